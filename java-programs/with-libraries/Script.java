import org.python.util.PythonInterpreter;

/** Runs a script in Python (Jython). */
public class Script {
    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        try (PythonInterpreter python = new PythonInterpreter()) {
            python.exec("class Node(object):\n"
                    + "    def __init__(self, key):\n"
                    + "        self.key, self.left, self.right = key, None, None\n"
                    + "def put(node, key):\n"
                    + "    if node is None: return Node(key)\n"
                    + "    if key < node.key: node.left = put(node.left, key)\n"
                    + "    else: node.right = put(node.right, key)\n"
                    + "    return node\n");
            python.exec("for n in range(" + rounds + "):\n"
                    + "    root, words = None, {}\n"
                    + "    for k in range(400):\n"
                    + "        root = put(root, (k * 7919 + n) % 1009)\n"
                    + "        words[str(k)] = '%d-%s' % (k, n)\n"
                    + "    assert len(sorted(words)) == 400\n");
        }
    }
}
