import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'

const SIZE = 3_000_000
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Uploads a file with as many calls as needed. Returns their number. */
export async function uploaded(scene: Scene, at: number): Promise<number> {
  const bytes = randomBytes(SIZE)
  const path = join(scene.machine.folder, `file-${at}`)
  const query = `?path=${encodeURIComponent(path)}`
  for (let calls = 1, from = 0; ; calls++) {
    const range = { 'content-range': `bytes ${from}-${SIZE - 1}/${SIZE}` }
    const answer = await scene.ask('POST', `/fs/upload${query}`, bytes.subarray(from), range)
    if (answer?.status === 201) return checked(path, bytes, calls)
    // Offline, or the response was lost.
    assert.ok(answer === null || answer.status >= 500 || answer.status === 409, JSON.stringify(answer))
    for (;;) {
      const response = await scene.ask('GET', `/fs/upload${query}`)
      if (response?.status === 200) {
        from = response.data.offset
        break
      }
      assert.ok(response === null || response.status >= 500 || response.status === 409, JSON.stringify(response))
      await sleep(100)
    }
    if (from === SIZE) return checked(path, bytes, calls)
  }
}

function checked(path: string, bytes: Uint8Array, calls: number): number {
  assert.equal(hash(readFileSync(path)), hash(bytes))
  rmSync(path)
  return calls
}
