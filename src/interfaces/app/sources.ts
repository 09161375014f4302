import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

export const root = join(import.meta.dirname, '../../..')

/** The sources of the app: its own files, and the server files it imports. */
const PARTS: readonly [folder: string, files: RegExp][] = [
  ['web', /^(index\.html|[a-z.-]+\.ts|tsconfig\.json|(src|public|frame)\/.*)$/],
  ['src/core', /^(text\/)?[^/]+\.ts$/],
  ['src/modules', /^(contracts|[^/]+\/contract(-[a-z-]+)?)\.ts$/],
  ['src/interfaces', /^(client|sse|schemas|app\/licences\/licences|docs\/(examples|browser)\/[^/]+)\.(ts|js)$/],
]

/** The hash of the sources, which names a build. */
export function stampOfSources(): string {
  const files = PARTS.flatMap(([folder, which]) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => which.test(relative(join(root, folder), path))),
  ).concat(join(root, 'package.json'), join(root, 'package-lock.json'))
  const digests = files.toSorted().map((file) => `${file.slice(root.length)} ${hash('sha1', readFileSync(file))}`)
  return hash('sha256', digests.join('\n')).slice(0, 20)
}
