import { contracts } from '#modules/contracts.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { type Incoming, type SendCall, pageIn } from '../../../client.ts'
import type { Terminal } from '../../terminal.ts'
import { columnsOf } from '../columns.ts'
import { table } from '../table.ts'
import type { Row } from './view-input.ts'

/** Models shown before pointing to search. */
const SHOWN = 40

interface Asking {
  listed: ListedEndpoint
  response: Incoming
  next(cursor: string): Promise<Incoming>
  call: SendCall
  terminal: Terminal
}

/** Sorts models by recent use, then newest first, with simulated models last. */
export async function modelsByUse({ listed, response, next, call, terminal }: Asking): Promise<string> {
  const used = await usesOf(call)
  const rows: Row[] = []
  for (
    let page = pageIn(JSON.parse(await response.text()));
    ;
    page = pageIn(JSON.parse(await (await next(page.next)).text()))
  ) {
    rows.push(...(page.rows as Row[]))
    if (page.next === null) break
  }
  const sim = ({ provider }: Row): number => (provider === 'sim' ? 1 : 0)
  const calls = ({ slug }: Row): number => used.get(String(slug)) ?? 0
  rows.sort(
    (a, b) =>
      calls(b) - calls(a) ||
      sim(a) - sim(b) ||
      String(b.created_at).localeCompare(String(a.created_at)) ||
      String(a.slug).localeCompare(String(b.slug)),
  )
  const shown = table(rows.slice(0, SHOWN), terminal, columnsOf(listed))
  const more = rows.length - SHOWN
  if (more > 0) terminal.err(`${more} more. Run \`uk models search --q <words>\`, or add --all.`)
  return shown
}

/** Calls per model in the last 30 days; empty without permission to read them. */
async function usesOf(call: SendCall): Promise<Map<string, number>> {
  try {
    const { endpoints } = await contracts.ai_gateway()
    const text = await (await call(endpoints.usage, { limit: 1_000 })).text()
    const { data } = JSON.parse(text) as { data: { by_model: { model: string; calls: number }[] } }
    return new Map(data.by_model.map(({ model, calls }) => [model, calls]))
  } catch {
    return new Map()
  }
}
