import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { IconButton } from '../../ui/button.tsx'
import { listenerQuery } from './queries.ts'
import { type Recording, endingOf, record, sayFailure } from './recording.ts'

export function VoiceButton({
  workspaceId,
  onWords,
}: {
  workspaceId: string | null
  onWords: (words: string) => void
}) {
  const [state, set] = useState<Recording>({ is: 'idle' })
  const { data: model } = useQuery(listenerQuery)
  const discard = useRef<(() => void) | null>(null)
  const hasLeft = useRef(false)
  useEffect(() => {
    hasLeft.current = false
    return () => {
      hasLeft.current = true
      discard.current?.()
    }
  }, [])
  const begin = async (): Promise<void> => {
    if (!model)
      return set({ is: 'failed', why: 'No transcription model is available. You can add a provider in AI routing.' })
    set({ is: 'asking' })
    try {
      const sound = await record((now) => {
        // The permission may arrive after the person left the page.
        if (hasLeft.current) return now.discard()
        discard.current = now.discard
        set(now)
      })
      discard.current = null
      if (sound === null) return set({ is: 'idle' })
      set({ is: 'writing' })
      const answer = await uk.inference.transcriptions(
        { model, ...(workspaceId !== null && { workspace_id: workspaceId }) },
        { file: { bytes: sound, name: `message.${endingOf(sound.type)}` } },
      )
      if ('operation' in answer) return set({ is: 'failed', why: 'Transcribing the recording takes too long.' })
      if (answer.text.trim() === '') return set({ is: 'failed', why: 'No speech was recognized.' })
      onWords(answer.text.trim())
      set({ is: 'idle' })
    } catch (error) {
      set({ is: 'failed', why: sayFailure(error) })
    }
  }
  return (
    <>
      {state.is === 'recording' ? (
        <>
          <Running since={state.since} />
          <IconButton label="Discard recording" icon="close" onClick={state.discard} />
          <IconButton label="Transcribe recording" icon="check" look="plain" onClick={state.stop} />
        </>
      ) : (
        <IconButton
          label="Record a message"
          icon="microphone"
          onClick={() => void begin()}
          disabled={state.is === 'asking' || state.is === 'writing'}
        />
      )}
      <span
        role="status"
        className={`text-sm empty:hidden ${state.is === 'failed' ? 'order-last w-full px-2 text-seal' : 'text-quiet'}`}
      >
        {state.is === 'failed'
          ? state.why
          : state.is === 'writing'
            ? 'Transcribing …'
            : state.is === 'asking'
              ? 'Waiting for the microphone …'
              : ''}
      </span>
    </>
  )
}

function Running({ since }: { since: number }) {
  const [now, setNow] = useState(since)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.floor((now - since) / 1000))
  return (
    <span className="figures flex items-center gap-1.5 text-sm text-seal" role="timer" aria-label="Recording">
      <span aria-hidden="true" className="size-2 rounded-full bg-seal" />
      {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
    </span>
  )
}
