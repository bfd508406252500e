/*
 * Forwards a record whose event key the store does not hold, and remembers the key.
 * Must not be in here: how a key is made, and where records come from or go to.
 */
package oncegate.peers;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** One a task: its store holds the keys of one raw partition. */
final class Deduplicator implements Processor<byte[], byte[], byte[], byte[]> {
    static final String STORE = "seen";

    private final EventKey keys = new EventKey();
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<Bytes, Long> seen;

    @Override
    public void init(ProcessorContext<byte[], byte[]> context) {
        this.context = context;
        this.seen = context.getStateStore(STORE);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        Bytes key = Bytes.wrap(keys.of(record.value()));
        if (seen.get(key) == null) {
            seen.put(key, record.timestamp());
            context.forward(record);
        }
    }
}
