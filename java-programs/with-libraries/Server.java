import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A server with a session for each client, and four clients (Tomcat). */
public class Server {
    static class Pages extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            StringBuffer page = new StringBuffer();
            for (int line = 0; line < 50; line++) {
                page.append(request.getParameter("q")).append(line).append('\n');
            }
            response.setContentType("text/plain");
            response.getWriter().print(page);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int requests = Integer.parseInt(arguments[0]);
        File folder = Files.createTempDirectory("server").toFile();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.getPath());
        tomcat.setHostname("localhost");
        tomcat.setPort(0);
        tomcat.getConnector();
        Context context = tomcat.addContext("", folder.getPath());
        Tomcat.addServlet(context, "pages", new Pages());
        context.addServletMappingDecoded("/", "pages");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        Search.inFour(mine -> {
            for (int number = 0; number < requests; number++) {
                URL url = new URL("http://localhost:" + port + "/?q=" + mine + "x" + number);
                try (InputStream page = url.openStream()) {
                    page.readAllBytes();
                }
            }
        });
        tomcat.stop();
        tomcat.destroy();
    }
}
