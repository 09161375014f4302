import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../../..')

/** What ends up in the app: its own files, and of the server what it reads of the contracts. */
const PARTS = [
  'web/{index.html,vite.config.ts,tsconfig.json}',
  'web/{src,public}/**/*',
  'src/kernel/*.ts',
  'src/areas/contracts.ts',
  'src/areas/*/contract.ts',
  'src/faces/{client,sse}.ts',
  'package.json',
  'package-lock.json',
]

/** Names the sources by their content: what was built from them is good for as long as this stays. */
export function stampOfSources(): string {
  const files = globSync(PARTS, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  const digests = files.map((file) => `${file.slice(root.length)} ${hash('sha1', readFileSync(file))}`)
  return hash('sha256', digests.join('\n')).slice(0, 20)
}
