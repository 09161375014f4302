/** `npm run openapi`: writes `openapi.json` at the project root. */
import { writeFile } from 'node:fs/promises'
import { loadContracts } from '#modules/contracts.ts'
import { newestVersion } from '#core/contract.ts'
import { openapi } from './openapi.ts'

const WIDTH = 110
const document = openapi(await loadContracts(), { origin: 'http://127.0.0.1:4242', version: newestVersion })
await writeFile(new URL('../../../openapi.json', import.meta.url), `${lines(document, 0)}\n`)

/** Formats JSON with short values on one line: half the lines, and still readable diffs. */
function lines(value: unknown, depth: number): string {
  const short = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || short.length + depth <= WIDTH) return short
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Object.entries(value)
    .filter(([, part]) => part !== undefined)
    .map(([key, part]) => (Array.isArray(value) ? '' : `${JSON.stringify(key)}: `) + lines(part, depth + 1))
  const indent = ' '.repeat(depth + 1)
  return `${open}\n${indent}${parts.join(`,\n${indent}`)}\n${' '.repeat(depth)}${close}`
}
