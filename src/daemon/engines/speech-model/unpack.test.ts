import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { unpackSpeechModel } from './unpack.ts'

/** The head of a file in a tar (POSIX.1-1988, with the size in base 256 as GNU has it). */
function head(name: string, size: number): Buffer {
  const block = Buffer.alloc(512)
  block.write(name, 0)
  block.write('0000644\0', 100)
  block[124] = 0x80
  block.writeUIntBE(size, 130, 6)
  block.write('        0', 148)
  block.write('ustar\x0000', 257)
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  )
  return block
}

test('an archive that unpacks to more than any model needs is rejected at the entry header, counting skipped entries', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uk-unpack-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'model.tar')
  writeFileSync(path, Buffer.concat([head('recording.wav', 2 ** 40), Buffer.alloc(4_096)]))
  await assert.rejects(unpackSpeechModel(path, join(folder, 'model'), new AbortController().signal), {
    code: 'invalid_parameter',
    message: /too large when unpacked/,
  })
})
