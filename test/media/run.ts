import assert from 'node:assert/strict'
import type { DeliveredMedia, Maker, MediaRequest, MediaWire, PollResult, VendorJob } from '#gateway/media/adapter.ts'
import { bytesOf } from './wire.ts'

/** The answer of a maker who answers at once. */
export async function made<R extends MediaRequest>(
  maker: Maker<R> | undefined,
  wire: MediaWire,
  request: R,
): Promise<DeliveredMedia> {
  assert.ok(maker?.how === 'immediate')
  return await maker.run(wire, request)
}

/** A job that was submitted, as a row keeps it: it went through JSON. */
export async function submitted<R extends MediaRequest>(
  maker: Maker<R> | undefined,
  wire: MediaWire,
  request: R,
): Promise<{
  job: VendorJob
  losses: readonly string[]
  poll(): Promise<PollResult>
  cancel(): Promise<boolean> | undefined
}> {
  assert.ok(maker?.how === 'deferred')
  const { job: given, losses } = await maker.submit(wire, request)
  const job = JSON.parse(JSON.stringify(given)) as VendorJob
  return { job, losses, poll: () => maker.poll(wire, job), cancel: () => maker.cancel?.(wire, job) }
}

/** What was delivered, with its bytes as text. */
export async function read(delivered: DeliveredMedia) {
  const { losses } = delivered
  switch (delivered.kind) {
    case 'files': {
      const files = []
      for (const { bytes, revisedPrompt } of delivered.files)
        files.push({ text: (await bytesOf(bytes)).toString(), revisedPrompt })
      return { files, units: delivered.units, losses }
    }
    case 'sound': {
      const { format, sampleRate, bytes, units } = delivered.sound
      const text = (await bytesOf(bytes)).toString()
      return { format, sampleRate, text, units: units(), losses }
    }
    case 'transcript':
      return { transcript: delivered.transcript, units: delivered.units, losses }
  }
}

/** The files, or what else stands there, of a job that is done. */
export async function done(polled: PollResult) {
  assert.ok(polled.status === 'done', JSON.stringify(polled))
  return await read(polled.delivered)
}
