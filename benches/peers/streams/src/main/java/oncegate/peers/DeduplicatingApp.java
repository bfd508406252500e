/*
 * The Kafka Streams peer of `make bench-peers`: lets each laboratory result through once, exactly
 * once, with a RocksDB store of the keys seen and its changelog.
 * Must not be in here: what makes a result itself (EventKey), and anything that measures.
 */
package oncegate.peers;

import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Runs the topology until it is ended. */
public final class DeduplicatingApp {
    private static final String SOURCE = "raw";
    private static final String DEDUPLICATOR = "deduplicator";
    private static final String SINK = "clean";

    private DeduplicatingApp() {
    }

    /**
     * Arguments: bootstrap servers, application id, raw topic, clean topic, state directory,
     * threads, commit interval in milliseconds.
     */
    public static void main(String[] args) throws InterruptedException {
        if (args.length != 7) {
            System.err.println("usage: BOOTSTRAP APPLICATION RAW CLEAN STATE_DIR THREADS COMMIT_MS");
            System.exit(2);
        }
        KafkaStreams streams = new KafkaStreams(topology(args[2], args[3]),
                properties(args[0], args[1], args[4],
                        Integer.parseInt(args[5]), Long.parseLong(args[6])));
        CountDownLatch ended = new CountDownLatch(1);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.ERROR) {
                ended.countDown();
            }
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
        streams.start();
        ended.await();
        System.exit(1);
    }

    static Topology topology(String raw, String clean) {
        // The changelog's records are small and many: the producer's lz4 does them too.
        StoreBuilder<KeyValueStore<Bytes, Long>> seen = Stores.keyValueStoreBuilder(
                        Stores.persistentKeyValueStore(Deduplicator.STORE), Serdes.Bytes(), Serdes.Long())
                .withCachingDisabled()
                .withLoggingEnabled(Map.of());
        ProcessorSupplier<byte[], byte[], byte[], byte[]> deduplicator = Deduplicator::new;
        Serde<byte[]> bytes = Serdes.ByteArray();
        return new Topology()
                .addSource(SOURCE, bytes.deserializer(), bytes.deserializer(), raw)
                .addProcessor(DEDUPLICATOR, deduplicator, SOURCE)
                .addStateStore(seen, DEDUPLICATOR)
                .addSink(SINK, clean, bytes.serializer(), bytes.serializer(), DEDUPLICATOR);
    }

    private static Properties properties(
            String bootstrap, String application, String stateDir, int threads, long commitMs) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, stateDir);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, threads);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, commitMs);
        properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, BoundedMemory.class);
        // Enough raw records at hand that a thread seldom waits for the broker.
        properties.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 10_000);
        properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 5_000);
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 512 * 1024);
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 128L * 1024 * 1024);
        // A slow machine must not end a transaction that is under way.
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 30_000);
        return properties;
    }
}
