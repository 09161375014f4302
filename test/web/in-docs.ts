import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Replaces the text between the marks in docs/app.md. */
export function writeInDocs(mark: string, text: string): void {
  const path = join(import.meta.dirname, '../../docs/app.md')
  const before = readFileSync(path, 'utf8')
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/app.md has no marks ${begin} and ${end}.`)
  writeFileSync(path, `${before.slice(0, from)}${begin}\n${text}\n${before.slice(to)}`)
}
