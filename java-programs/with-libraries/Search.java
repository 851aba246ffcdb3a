import org.apache.lucene.analysis.SimpleAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.RAMDirectory;

/** Four threads index documents, then search them (Lucene). */
public class Search {
    public static void main(String[] arguments) throws Exception {
        int documents = Integer.parseInt(arguments[0]);
        RAMDirectory directory = new RAMDirectory();
        IndexWriter writer =
                new IndexWriter(directory, new SimpleAnalyzer(), IndexWriter.MaxFieldLength.LIMITED);
        inFour(mine -> {
            for (int number = 0; number < documents; number++) {
                StringBuilder text = new StringBuilder();
                for (int word = 0; word < 60; word++) {
                    int drawn = (number * 31 + word * 17 + mine * 7) % 997;
                    text.append((char) ('a' + drawn % 26)).append((char) ('a' + drawn / 39));
                    text.append("word ");
                }
                Document document = new Document();
                document.add(new Field("text", text.toString(), Field.Store.YES, Field.Index.ANALYZED));
                writer.addDocument(document);
            }
        });
        writer.close();
        IndexSearcher searcher = new IndexSearcher(directory, true);
        inFour(mine -> {
            for (int number = 0; number < documents; number++) {
                String word = "" + (char) ('a' + number % 26) + (char) ('a' + number % 25) + "word";
                searcher.search(new TermQuery(new Term("text", word)), 10);
            }
        });
    }

    interface Work {
        void run(int mine) throws Exception;
    }

    static void inFour(Work work) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int number = 0; number < threads.length; number++) {
            int mine = number;
            threads[number] = new Thread(() -> {
                try {
                    work.run(mine);
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
