// c++: -O3 -static
// Shortest ways in a graph with a priority queue, a set and an ordered map; a queue for breadth.
#include <cstdio>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

struct Edge { int to, cost; };

int main() {
    const int n = 1500;
    unsigned seed = 23;
    auto next = [&](unsigned m) { return seed = seed * 1664525 + 1013904223, (seed >> 12) % m; };
    std::vector<std::vector<Edge>> out(n);
    for (int i = 0; i < n; i++)
        for (unsigned k = 2 + next(4); k; k--) out[i].push_back({int(next(n)), int(1 + next(100))});
    long sum = 0;
    for (int from = 0; from < 4; from++) {
        std::vector<int> best(n, 1 << 30);
        std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> todo;
        todo.push({best[from] = 0, from});
        while (!todo.empty()) {
            auto [cost, at] = todo.top();
            todo.pop();
            if (cost > best[at]) continue;
            for (const Edge &e : out[at])
                if (cost + e.cost < best[e.to]) todo.push({best[e.to] = cost + e.cost, e.to});
        }
        std::map<int, int> histogram;
        for (int b : best) histogram[b / 4]++;
        for (auto [key, count] : histogram) sum += key * count;
        std::set<std::tuple<int, int>> ordered;
        for (int i = 0; i < n; i++) ordered.insert({best[i] % 64, i});
        for (auto it = ordered.begin(); it != ordered.end();)
            if (std::get<1>(*it) % 3 == 0) it = ordered.erase(it);
            else ++it;
        std::deque<int> queue{from};
        std::vector<char> seen(n);
        while (!queue.empty()) {
            int at = queue.front();
            queue.pop_front();
            for (const Edge &e : out[at])
                if (!seen[e.to]) seen[e.to] = 1, queue.push_back(e.to);
            sum += ordered.count({best[at] % 64, at});
        }
    }
    std::printf("%ld\n", sum);
}
