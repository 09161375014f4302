import { type SelectQueryBuilder, sql } from 'kysely'

export const newestFirst =
  (column: string, before: string | number | null, limit: number) =>
  <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O> => {
    const page = query.orderBy(sql.ref(column), 'desc').limit(limit)
    return before === null ? page : page.where(sql.ref<string | number>(column), '<', before)
  }
