import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** Four threads transform documents by one style sheet (Xalan). */
public class Transform {
    private static final String SHEET =
            "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
                    + "<xsl:template match='/'><ul><xsl:for-each select='//row'>"
                    + "<xsl:sort select='@key'/><li><xsl:value-of select='@key'/>: "
                    + "<xsl:value-of select='sum(preceding-sibling::row/@size)'/></li>"
                    + "</xsl:for-each></ul></xsl:template></xsl:stylesheet>";

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        StringBuilder document = new StringBuilder("<all>");
        for (int row = 0; row < 120; row++) {
            document.append("<row key='k" + row * 37 % 120 + "' size='" + row + "'/>");
        }
        document.append("</all>");
        TransformerFactory factory = TransformerFactory.newInstance(
                "org.apache.xalan.processor.TransformerFactoryImpl", null);
        Templates sheet = factory.newTemplates(new StreamSource(new StringReader(SHEET)));
        Search.inFour(mine -> {
            for (int round = 0; round < rounds; round++) {
                sheet.newTransformer().transform(
                        new StreamSource(new StringReader(document.toString())),
                        new StreamResult(new StringWriter()));
            }
        });
    }
}
