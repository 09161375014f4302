import { homedir } from 'node:os'
import { refuse } from '#core/errors.ts'
import type { Roots } from './within.ts'

/**
 * Returns the folder where browsing starts: the home of the daemon's user if allowed, else the first allowed folder
 * that exists.
 */
export async function start(roots: Roots, allowed: readonly string[]): Promise<Buffer> {
  for (const path of [homedir(), ...allowed]) {
    const folder = path === '' ? null : await roots.openFolder(Buffer.from(path)).catch(() => null)
    if (folder === null) continue
    await folder[Symbol.asyncDispose]()
    return folder.path
  }
  return refuse('not_found', { param: 'path', message: `None of the allowed folders exists: ${allowed.join(', ')}.` })
}
