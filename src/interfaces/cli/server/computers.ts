import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../client.ts'
import { Stop } from '../exit.ts'

/** Finds a computer by ID or name. Duplicate names need the ID. */
export async function findComputer(call: SendCall, word: string): Promise<{ id: string; name: string }> {
  const { endpoints } = await contracts.computers()
  const found: { id: string; name: string }[] = []
  for (let cursor: string | undefined; ;) {
    const answer = await call(endpoints.list, { limit: 100, cursor })
    const { data, pagination } = JSON.parse(await answer.text()) as Listed
    found.push(...data.filter(({ id, name }) => id === word.toUpperCase() || name === word))
    if (!pagination.next_cursor) break
    cursor = pagination.next_cursor
  }
  const [one, other] = found
  if (one === undefined)
    throw new Stop(
      'not_found',
      `No computer named "${word}".`,
      'Run `uk computers list` to see the computers you can use.',
    )
  if (other !== undefined && one.id !== word.toUpperCase())
    throw new Stop(
      'usage',
      `${found.length} computers are named "${word}".`,
      `Use an ID: ${found.map(({ id }) => id).join(', ')}.`,
    )
  return one
}

interface Listed {
  data: { id: string; name: string }[]
  pagination: { next_cursor?: string | null }
}
