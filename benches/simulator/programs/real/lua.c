// cc: -O2 -static -I/usr/include/lua5.4
// libs: -llua5.4 -lm -ldl
// needs: liblua5.4-dev
// Queens, a sieve, string formatting and tables with closures (Lua).
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

static const char script[] =
    "local function queens(n, row, cols, up, down)\n"
    "  if row > n then return 1 end\n"
    "  local found = 0\n"
    "  for c = 1, n do\n"
    "    if not cols[c] and not up[row + c] and not down[row - c] then\n"
    "      cols[c], up[row + c], down[row - c] = true, true, true\n"
    "      found = found + queens(n, row + 1, cols, up, down)\n"
    "      cols[c], up[row + c], down[row - c] = nil, nil, nil\n"
    "    end\n"
    "  end\n"
    "  return found\n"
    "end\n"
    "local words, total = {}, queens(6, 1, {}, {}, {})\n"
    "for i = 1, 1500 do\n"
    "  local w = string.format('%x', i * 2654435761 % 4096)\n"
    "  words[w] = (words[w] or 0) + #w\n"
    "end\n"
    "local keys = {}\n"
    "for k in pairs(words) do keys[#keys + 1] = k end\n"
    "table.sort(keys, function(a, b) return words[a] < words[b] or words[a] == words[b] and a < b end)\n"
    "local text = table.concat(keys, ' ')\n"
    "for w in text:gmatch('%a+') do total = total + #w end\n"
    "local sieve = {}\n"
    "for i = 2, 4000 do if not sieve[i] then for j = i * i, 4000, i do sieve[j] = true end total = total + i end end\n"
    "return total\n";

int main(void) {
    lua_State *state = luaL_newstate();
    luaL_openlibs(state);
    if (luaL_dostring(state, script)) return fprintf(stderr, "%s\n", lua_tostring(state, -1)), 1;
    printf("%lld\n", (long long)lua_tointeger(state, -1));
    lua_close(state);
    return 0;
}
