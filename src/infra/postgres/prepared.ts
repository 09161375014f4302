import type pg from 'pg'

/** Maximum prepared texts; further ones run unprepared, so that generated texts can't fill the server's memory. */
const MAX_TEXTS = 1_000

/**
 * Prepares every parameterized statement once per connection: parsing and planning a join costs PostgreSQL more than
 * running it. Our texts are few.
 */
export function prepareStatements(pool: pg.Pool): void {
  const names = new Map<string, string>()
  const nameOf = (text: string): string | undefined => {
    const cachedName = names.get(text)
    if (cachedName !== undefined || names.size >= MAX_TEXTS) return cachedName
    const name = `uk${names.size}`
    names.set(text, name)
    return name
  }
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const preparedQuery = (text: unknown, values?: unknown, callback?: unknown): unknown => {
      const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(text) : undefined
      return name === undefined ? query(text, values, callback) : query({ name, text, values }, callback)
    }
    client.query = preparedQuery as typeof client.query
  })
}
