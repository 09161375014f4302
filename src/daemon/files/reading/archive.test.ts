import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Stream, StreamReset } from '#wire/stream.ts'
import { read } from './read.ts'
import { createRoots } from '../within.ts'

/** What this process has open below a folder. */
async function openBelow(root: string): Promise<string[]> {
  const held = await readdir('/proc/self/fd')
  const paths = await Promise.all(held.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return paths.filter((path) => path.startsWith(root))
}

for (const archive of ['zip', 'tar'] as const)
  test(
    `a ${archive} that its reader leaves closes all that it had opened`,
    { skip: process.platform !== 'linux' },
    async () => {
      const root = await mkdtemp(join(tmpdir(), 'uk-archive-'))
      await using _root = { [Symbol.asyncDispose]: () => rm(root, { recursive: true }) }
      await mkdir(join(root, 'a/b/c'), { recursive: true })
      for (const name of ['one', 'two', 'three'])
        await writeFile(join(root, 'a/b/c', name), Buffer.alloc(8 << 20, name))
      let written = 0
      const leaves: Partial<Stream> = {
        event: () => {},
        write: () => (++written > 3 ? Promise.reject(new StreamReset('left')) : Promise.resolve()),
      }
      const input = { path: root, offset: 0, length: null, archive }
      const reading = read(createRoots([root]), input, leaves as Stream, new AbortController().signal)
      await assert.rejects(reading, StreamReset)
      assert.deepEqual(await openBelow(root), [])
    },
  )
