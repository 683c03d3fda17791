import java.io.File;
import java.nio.file.Files;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Serves a file of 10,000 bytes, with the servlet of Tomcat that all versions have. */
public class Serve {
    public static void main(String[] arguments) throws Exception {
        File base = new File(arguments[1], "tomcat");
        base.mkdirs();
        Files.write(new File(base, "page.txt").toPath(), "0123456789".repeat(1000).getBytes());
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.getPath());
        tomcat.setHostname("localhost");
        tomcat.setPort(Integer.parseInt(arguments[0]));
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", "4");
        tomcat.getConnector().setProperty("minSpareThreads", "4");
        Context context = tomcat.addContext("", base.getPath());
        Tomcat.addServlet(context, "default", "org.apache.catalina.servlets.DefaultServlet");
        context.addServletMappingDecoded("/", "default");
        tomcat.start();
        tomcat.getServer().await();
    }
}
