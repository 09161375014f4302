/** The thread that runs Flite, one piece of text at a time, which blocks it. */
import { parentPort, workerData } from 'node:worker_threads'
import { readWaveHead } from '../convert/wave.ts'
import { type WasmModule, runWasi } from './wasi.ts'

export interface FliteRequest {
  text: string
  voice: string
  speed: number
}
export type FliteAnswer = { sampleRate: number; pcm: Uint8Array } | { error: string }

// Threads share the compiled module without copying.
const { module } = workerData as { module: WasmModule }

parentPort!.on('message', (request: FliteRequest) => {
  speak(request).then(
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    (answer) => parentPort!.postMessage(answer),
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    (error: unknown) => parentPort!.postMessage(failureOf(error)),
  )
})

const failureOf = (error: unknown): FliteAnswer => ({ error: String(error).slice(0, 300).toWellFormed() })

async function speak({ text, voice, speed }: FliteRequest): Promise<FliteAnswer> {
  // `-t`: otherwise text without a space is taken for a file name.
  const { code, file, said } = await runWasi(module, [
    'flite',
    '-voice',
    voice,
    '--setf',
    `duration_stretch=${(1 / speed).toFixed(3)}`,
    '-t',
    text,
    '-o',
    'out.wav',
  ])
  const head = code === 0 ? readWaveHead(file) : null
  if (head === null) return { error: `flite exited with ${code}: ${said.trim().slice(0, 200).toWellFormed()}` }
  // Copied, because a view would transfer its whole buffer.
  return { sampleRate: head.sampleRate, pcm: new Uint8Array(file.subarray(head.start)) }
}
