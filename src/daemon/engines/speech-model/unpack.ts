import { spawn } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { Refusal, refuse } from '#core/errors.ts'
import { isFull } from '../../files/faults.ts'
import { checkRoom, full } from '../download/download.ts'
import { type SpeechModel, speechModelIn } from './model-files.ts'
import { onnxMetadata } from './onnx.ts'

/** The largest models have 3 GB. */
const MAX_BYTES = 8 * 2 ** 30
/** Limit of unpacked bytes, including skipped files. */
const MAX_UNPACKED = 4 * MAX_BYTES
const MAX_FILES = 200
const MAX_ENTRIES = 10_000
/** The files the engine reads, without sample recordings and scripts. */
const TAKEN = /^[\w.-]{0,120}(\.onnx|tokens\.txt)$/

type Packing = 'bzip2' | 'gzip' | 'tar'

export const isArchive = async (path: string): Promise<boolean> => (await packingOf(path)) !== null

async function packingOf(path: string): Promise<Packing | null> {
  await using file = await open(path, 'r')
  const { buffer } = await file.read(Buffer.alloc(512), 0, 512, 0)
  if (buffer.subarray(0, 3).toString('latin1') === 'BZh') return 'bzip2'
  if (buffer.readUInt16BE(0) === 0x1f8b) return 'gzip'
  return buffer.subarray(257, 262).toString('latin1') === 'ustar' ? 'tar' : null
}

/** Extracts into `folder`. Throws `invalid_parameter` for unknown models. */
export async function unpackSpeechModel(
  path: string,
  folder: string,
  signal: AbortSignal,
): Promise<{ speech: SpeechModel; bytes: number }> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const sizes = await filesOf(path, folder, signal)
  const typeOf = async (name: string): Promise<string | null> =>
    (await onnxMetadata(join(folder, name))).get('model_type') ?? null
  const speech = await speechModelIn([...sizes.keys()], typeOf)
  if (speech === null)
    return notKnown(
      'it contains no supported speech model: Whisper, a transducer, Moonshine, SenseVoice, Paraformer, or CTC of NeMo, Zipformer or WeNet, with its tokens.txt',
    )
  const needed = new Set([...Object.values(speech.files), speech.tokens])
  let bytes = 0
  for (const [name, size] of sizes) {
    if (needed.has(name)) bytes += size
    else await rm(join(folder, name))
  }
  return { speech, bytes }
}

async function filesOf(path: string, folder: string, signal: AbortSignal): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  let entries = 0
  let bytes = 0
  let unpackedBytes = 0
  const tar = extract()
  const { input, ended } = await unpack(path, signal)
  const fed = pipeline(input, tar, { signal })
  fed.catch((error: Error) => tar.destroy(error))
  try {
    for await (const entry of tar) {
      const { name, type, size } = entry.header
      const short = basename(name)
      if (++entries > MAX_ENTRIES) notKnown(`it has more than ${MAX_ENTRIES} entries`)
      // Skipped files are unpacked too: a small archive could otherwise keep a processor busy for days.
      unpackedBytes += size
      if (unpackedBytes > MAX_UNPACKED) notKnown('it’s too large when unpacked')
      if (type !== 'file' || !TAKEN.test(short) || sizes.has(short)) {
        entry.resume()
        continue
      }
      bytes += size
      if (sizes.size >= MAX_FILES || bytes > MAX_BYTES) notKnown('it’s too large when unpacked')
      await checkRoom(folder, size, 0)
      await pipeline(entry, createWriteStream(join(folder, short), { flags: 'wx', mode: 0o600 }), { signal })
      sizes.set(short, (await stat(join(folder, short))).size)
    }
    await fed
    await ended
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Refusal) throw error
    if (isFull(error)) await full(folder, bytes)
    notKnown(`its archive is damaged (${error instanceof Error ? error.message : String(error)})`)
  } finally {
    input.destroy()
  }
  return sizes
}

/** Decompresses the archive. `ended` resolves if decompression succeeded. */
async function unpack(path: string, signal: AbortSignal): Promise<{ input: Readable; ended: Promise<void> }> {
  const packing = await packingOf(path)
  const file = createReadStream(path)
  if (packing !== 'bzip2') {
    if (packing !== 'gzip') return { input: file, ended: Promise.resolve() }
    const gunzip = createGunzip()
    file.once('error', (error) => gunzip.destroy(error))
    return { input: file.pipe(gunzip), ended: Promise.resolve() }
  }
  file.destroy()
  const child = spawn('bzip2', ['-dc', path], { stdio: ['ignore', 'pipe', 'ignore'], signal, killSignal: 'SIGKILL' })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) =>
      reject(
        'code' in error && error.code === 'ENOENT'
          ? new Refusal('not_supported', {
              message: '`bzip2` is required to unpack the archive. Install it on the computer.',
            })
          : error,
      ),
    )
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`bzip2 ended with ${code ?? 'a signal'}`)),
    )
  })
  ended.catch((error: Error) => child.stdout.destroy(error))
  return { input: child.stdout, ended }
}

function notKnown(why: string): never {
  return refuse('invalid_parameter', { param: 'source', message: `This model can’t be used: ${why}.` })
}
