import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { uk } from '../../api.ts'
import { IconButton } from '../../ui/button.tsx'
import { listenerQuery } from './queries.ts'
import { type Recording, endingOf, record, sayFailure } from './recording.ts'

/** Records a message and puts down its words, for the person to read before they are sent. */
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
  const left = useRef(false)
  useEffect(() => {
    left.current = false
    return () => {
      left.current = true
      discard.current?.()
    }
  }, [])
  const begin = async (): Promise<void> => {
    if (!model)
      return set({ is: 'failed', why: 'No model here writes down what is said. Providers are added at AI routing.' })
    set({ is: 'asking' })
    try {
      const sound = await record((now) => {
        // The browser may give the microphone to somebody who has gone on to another page.
        if (left.current) return now.discard()
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
      if ('operation' in answer) return set({ is: 'failed', why: 'The recording takes too long to be written down.' })
      if (answer.text.trim() === '') return set({ is: 'failed', why: 'Nothing that was said could be made out.' })
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
          <IconButton label="Discard the recording" icon="close" onClick={state.discard} />
          <IconButton label="Write down what was said" icon="check" look="plain" onClick={state.stop} />
        </>
      ) : (
        <IconButton
          label="Speak a message"
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
            ? 'Writing it down …'
            : state.is === 'asking'
              ? 'Waiting for the microphone …'
              : ''}
      </span>
    </>
  )
}

/** The time for which the recording has been going on. */
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
