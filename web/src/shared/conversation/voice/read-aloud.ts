import { useSyncExternalStore } from 'react'
import { ApiError } from '#interfaces/client.ts'
import { uk } from '../../api.ts'
import { sayError } from '../../../ui/calls/errors.ts'
import { pcmIn } from './pcm.ts'
import { spokenOf } from './spoken.ts'
import { shorten } from '../../../../../src/core/text/shorten.ts'

interface Reading {
  messageId: string | null
  state: 'silent' | 'coming' | 'speaking'
}

const LONGEST = 20_000
const silent: Reading = { messageId: null, state: 'silent' }
let reading: Reading = silent
let ending: AbortController | null = null
const listeners = new Set<() => void>()
const set = (now: Reading): void => {
  reading = now
  for (const listener of listeners) listener()
}

export const useReading = (): Reading =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => reading,
  )

export function stopReading(): void {
  ending?.abort()
  ending = null
  set(silent)
}

/** Plays speech while it is generated. Resolves at the end; rejects with a message for people. */
export async function readAloud(messageId: string, text: string, workspaceId: string | null): Promise<void> {
  stopReading()
  const mine = (ending = new AbortController())
  const { signal } = mine
  set({ messageId, state: 'coming' })
  const sound = new AudioContext()
  try {
    const events = await uk.inference.speech_stream(
      {
        input: shorten(spokenOf(text), LONGEST),
        format: 'pcm',
        ...(workspaceId !== null && { workspace_id: workspaceId }),
      },
      { signal },
    )
    signal.addEventListener('abort', () => void sound.close())
    let next = 0
    const takes = pcmIn()
    for await (const { event, data } of events) {
      if (event === 'audio.failed') throw new Error(data.error.message)
      if (event !== 'audio.delta') continue
      const samples = takes(data.audio)
      if (samples.length === 0) continue
      const buffer = sound.createBuffer(1, samples.length, data.sample_rate ?? 24_000)
      buffer.copyToChannel(samples, 0)
      const source = sound.createBufferSource()
      source.buffer = buffer
      source.connect(sound.destination)
      next = Math.max(next, sound.currentTime + 0.05)
      source.start(next)
      next += buffer.duration
      if (reading.state === 'coming') set({ messageId, state: 'speaking' })
    }
    await new Promise((resolve) => {
      setTimeout(resolve, Math.max(0, next - sound.currentTime) * 1000)
      signal.addEventListener('abort', resolve)
    })
  } catch (error) {
    if (!signal.aborted)
      throw new Error(error instanceof ApiError || !(error instanceof Error) ? sayError(error) : error.message, {
        cause: error,
      })
  } finally {
    if (ending === mine) stopReading()
    else if (sound.state !== 'closed') void sound.close()
  }
}
