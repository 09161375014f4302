import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../client.ts'
import { Stop } from '../exit.ts'

/** A computer by its id or its name. Two with one name are told apart by their ids. */
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
    throw new Stop('not_found', `There is no computer "${word}".`, '`uk computers list` shows those that you reach.')
  if (other !== undefined && one.id !== word.toUpperCase())
    throw new Stop(
      'usage',
      `${found.length} computers are called "${word}".`,
      `Name one by its id: ${found.map(({ id }) => id).join(', ')}.`,
    )
  return one
}

interface Listed {
  data: { id: string; name: string }[]
  pagination: { next_cursor?: string | null }
}
