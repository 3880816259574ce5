// cc: -O2 -static
// libs: -lmujs -lm
// needs: libmujs-dev
// Objects, closures, expressions and strings in JavaScript (MuJS).
#include <mujs.h>
#include <stdio.h>

static const char script[] =
    "function Node(key) { this.key = key; this.left = this.right = null }\n"
    "function insert(node, key) {\n"
    "  if (!node) return new Node(key);\n"
    "  if (key < node.key) node.left = insert(node.left, key); else node.right = insert(node.right, key);\n"
    "  return node;\n"
    "}\n"
    "function depth(node) { return node ? 1 + Math.max(depth(node.left), depth(node.right)) : 0 }\n"
    "var root = null, seed = 1, words = {}, total = 0;\n"
    "for (var i = 0; i < 250; i++) { seed = seed * 16807 % 2147483647; root = insert(root, seed % 1000); }\n"
    "for (var i = 0; i < 600; i++) { var w = (i * 7919 % 512).toString(16); words[w] = (words[w] || 0) + w.length; }\n"
    "for (var w in words) total += words[w];\n"
    "var text = Object.keys(words).sort().join(' ');\n"
    "text.replace(/[a-f]+\\d/g, function (m) { total += m.length; return m; });\n"
    "var sums = [3, 1, 2].map(function (n) { var s = 0; for (var i = 0; i < 500; i++) s += i % n; return s; });\n"
    "depth(root) + total + sums[1];\n";

int main(void) {
    js_State *state = js_newstate(NULL, NULL, JS_STRICT);
    int failed = js_dostring(state, script);
    printf("%d\n", failed);
    js_freestate(state);
    return failed;
}
