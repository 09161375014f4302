import { Stop } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { type Terminal, shown } from '../terminal.ts'

/**
 * Applies `--jq`, `-q` or `--json` to a response. Strings print bare, as with `jq -r`; anything else as JSON, one value
 * per line. Cleaned for terminals, since others wrote the text.
 */
export const selected = async (text: string, globals: Globals, terminal: Terminal): Promise<string> =>
  shown(await chosen(text, globals), terminal)

async function chosen(text: string, { jq, query }: Globals): Promise<string> {
  if (jq !== undefined) return byJq(text, jq)
  if (query !== undefined) return lines(fieldAt(JSON.parse(text), query))
  return `${text}\n`
}

const bare = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const lines = (values: readonly unknown[]): string => values.map((value) => `${bare(value)}\n`).join('')

/** jq compiled to WebAssembly, loaded on demand: it is 1 MB. */
async function byJq(text: string, filter: string): Promise<string> {
  const { raw } = await import('jq-wasm')
  // The leading space keeps a filter such as `-1` from being parsed as an option.
  const output = await raw(text, ` ${filter}`, ['-r', '-c']).catch((error: Error) => {
    const why = error.message
      .split('\n')[0]!
      .replace(/^jq: error(: | \(at [^)]*\): )?/, '')
      .replace(' (Unix shell quoting issues?)', '')
      .replace(/ at <top-level>.*$/, '')
    throw new Stop(
      'usage',
      `Invalid --jq expression: ${why}. Example: '.data[].id'`,
      'Manual: https://jqlang.org/manual',
    )
  })
  return output === '' || output.endsWith('\n') ? output : `${output}\n`
}

/**
 * Finds the values at a path such as `name` or `data.0.id`, in the response's `data` first, then in the whole response.
 * A name applied to a list applies to each item.
 */
export function fieldAt(answer: unknown, path: string): unknown[] {
  const names = path.replace(/^\./, '').split('.').filter(Boolean)
  const { data } = (answer ?? {}) as { data?: unknown; items?: unknown }
  const results = [data, answer].map((from) => (from === undefined ? [] : names.reduce(step, [from])))
  const values = results.find((some) => some.length > 0)
  if (values !== undefined) return values.length === 1 && Array.isArray(values[0]) ? values[0] : values
  const at = Array.isArray(data) ? data[0] : (data ?? answer)
  if (Array.isArray(data) && data.length === 0) return []
  const fields = at !== null && typeof at === 'object' ? Object.keys(at) : []
  throw new Stop(
    'usage',
    `-q: no field "${path}" in the response.`,
    fields.length > 0 ? `Available fields: ${fields.join(', ')}.` : undefined,
  )
}

function step(from: readonly unknown[], name: string): unknown[] {
  return from.flatMap((value): unknown[] => {
    if (Array.isArray(value))
      return /^\d+$/.test(name) ? value.slice(Number(name), Number(name) + 1) : step(value, name)
    if (value === null || typeof value !== 'object' || !(name in value)) return []
    return [(value as Record<string, unknown>)[name]]
  })
}
