/*
 * RocksDB's settings: memory of all stores together is bounded, and look-ups of new keys, which
 * most are, end at the filters.
 * Must not be in here: a setting of Kafka's.
 */
package oncegate.peers;

import java.util.Map;

import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.WriteBufferManager;

/** One cache and one budget of write buffers for all stores, as Kafka's documentation advises. */
public final class BoundedMemory implements RocksDBConfigSetter {
    private static final long MIB = 1024 * 1024;
    // 512 MiB, as much as oncegate's stores have in the bench; write buffers count against it.
    private static final Cache CACHE = new LRUCache(512 * MIB, -1, false, 0.1);
    private static final WriteBufferManager WRITE_BUFFERS = new WriteBufferManager(192 * MIB, CACHE);
    private static final BloomFilter FILTER = new BloomFilter(10, false);

    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
        BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
        table.setBlockCache(CACHE);
        table.setFilterPolicy(FILTER);
        table.setCacheIndexAndFilterBlocks(true);
        table.setCacheIndexAndFilterBlocksWithHighPriority(true);
        table.setPinTopLevelIndexAndFilter(true);
        options.setTableFormatConfig(table);
        options.setWriteBufferManager(WRITE_BUFFERS);
        options.setWriteBufferSize(32 * MIB);
        options.setMaxWriteBufferNumber(3);
        options.setMemtableWholeKeyFiltering(true);
        options.setMemtablePrefixBloomSizeRatio(0.1);
    }

    @Override
    public void close(String storeName, Options options) {
        // Cache, budget and filter are shared by all stores and live as long as the process.
    }
}
