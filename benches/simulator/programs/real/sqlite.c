// cc: -O2 -static
// libs: -lsqlite3 -lm -ldl
// needs: libsqlite3-dev
// A table of orders in memory: inserts, an index, a join, groups, updates and deletes (SQLite).
#include <sqlite3.h>
#include <stdio.h>

static int rows;

static int row(void *unused, int columns, char **values, char **names) {
    (void)unused, (void)values, (void)names;
    rows += columns;
    return 0;
}

int main(void) {
    static const char *const script[] = {
        "create table item(id integer primary key, name text, price real)",
        "create table sale(id integer primary key, item int, number int, day text)",
        "with recursive n(i) as (select 1 union all select i+1 from n where i<200) "
        "insert into item select i, 'item' || (i % 37), i * 1.25 from n",
        "with recursive n(i) as (select 1 union all select i+1 from n where i<2500) "
        "insert into sale select i, i * 7919 % 200 + 1, i % 11, date('2020-01-01', '+' || (i % 365) || ' days') from n",
        "create index by_item on sale(item)",
        "select name, sum(price * number) from sale join item on item.id = sale.item group by name order by 2 desc",
        "select day, count(*) from sale where item between 20 and 120 and day like '2020-0%' group by day having count(*) > 2",
        "update sale set number = number + 1 where item % 3 = 0",
        "delete from sale where item in (select id from item where name like '%7')",
        "select max(length(day || name)) from sale, item where sale.item = item.id and price > 100",
    };
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db)) return 1;
    for (unsigned i = 0; i < sizeof script / sizeof *script; i++)
        if (sqlite3_exec(db, script[i], row, 0, 0)) return fprintf(stderr, "%s\n", sqlite3_errmsg(db)), 1;
    printf("%d\n", rows);
    return sqlite3_close(db);
}
