/** A service that builds a large result for each request and then collects it; its heap may shrink after each collection. */
public class Service {
    static volatile Object kept;

    static long answer() {
        byte[][] parts = new byte[64][];
        for (int part = 0; part < parts.length; part++) {
            parts[part] = new byte[1 << 20];
            for (int at = 0; at < parts[part].length; at += 4096) parts[part][at] = 1;
        }
        kept = parts;
        return parts.length;
    }

    public static void main(String[] words) throws InterruptedException {
        for (;;) {
            answer();
            kept = null;
            System.gc();
            Thread.sleep(20);
        }
    }
}
