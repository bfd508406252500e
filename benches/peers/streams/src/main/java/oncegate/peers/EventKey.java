/*
 * What makes a laboratory result itself: accession, analyte, instrument and the time of result, in
 * one spelling, hashed. The same fields as oncegate's recipe `lab-result`.
 * Must not be in here: what is done with a key.
 */
package oncegate.peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.text.Normalizer;
import java.time.Instant;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;

/** Makes keys; for one thread. */
final class EventKey {
    /** The members of a result that are its identity; Jackson passes over all others. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Identity(
            @JsonProperty(value = "accession", required = true) String accession,
            @JsonProperty(value = "analyte_loinc", required = true) String analyteLoinc,
            @JsonProperty(value = "instrument_id", required = true) String instrumentId,
            @JsonProperty(value = "resulted_at", required = true) String resultedAt) {
    }

    private static final ObjectReader READER = new ObjectMapper().readerFor(Identity.class);
    private static final char BAR = '|';

    private final MessageDigest sha256;

    EventKey() {
        try {
            sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException("every Java has SHA-256", error);
        }
    }

    /** The key of a result; a value that is none ends the application. */
    byte[] of(byte[] value) {
        Identity identity;
        try {
            identity = READER.readValue(value);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        String tuple = text(identity.accession()) + BAR
                + text(identity.analyteLoinc()) + BAR
                + text(identity.instrumentId()) + BAR
                + instant(identity.resultedAt());
        return sha256.digest(tuple.getBytes(StandardCharsets.UTF_8));
    }

    /** Without blanks around it, accents composed. */
    private static String text(String text) {
        int from = 0;
        int to = text.length();
        while (from < to && isBlank(text.charAt(from))) {
            from++;
        }
        while (to > from && isBlank(text.charAt(to - 1))) {
            to--;
        }
        // Composed already, as nearly all are, it is returned as it is.
        return Normalizer.normalize(text.substring(from, to), Normalizer.Form.NFC);
    }

    private static boolean isBlank(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c);
    }

    /** The instant, whatever zone it is told in. */
    private static Instant instant(String text) {
        return Instant.parse(text.replace(' ', 'T'));
    }
}
