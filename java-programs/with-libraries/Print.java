import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.xmlgraphics.util.MimeConstants;

/** Sets pages of text (FOP). */
public class Print {
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        StringBuilder document = new StringBuilder(
                "<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format'><fo:layout-master-set>"
                        + "<fo:simple-page-master master-name='a' page-width='21cm' page-height='29cm'>"
                        + "<fo:region-body/></fo:simple-page-master></fo:layout-master-set>"
                        + "<fo:page-sequence master-reference='a'><fo:flow flow-name='xsl-region-body'>");
        for (int block = 0; block < 300; block++) {
            document.append("<fo:block>Paragraph " + block + " with some words in it.</fo:block>");
        }
        document.append("</fo:flow></fo:page-sequence></fo:root>");
        FopFactory factory = FopFactory.newInstance(new File(".").toURI());
        for (int round = 0; round < rounds; round++) {
            Fop fop = factory.newFop(MimeConstants.MIME_PDF, new ByteArrayOutputStream());
            TransformerFactory.newInstance().newTransformer().transform(
                    new StreamSource(new StringReader(document.toString())),
                    new SAXResult(fop.getDefaultHandler()));
        }
    }
}
