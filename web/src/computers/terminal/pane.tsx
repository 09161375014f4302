import { useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/toast/toast.tsx'
import { useScheme } from '../../ui/media.ts'
import { TerminalConnection, type LineState } from './connection.ts'
import { KeyBar } from './key-bar.tsx'
import type { FromFrame, Look, ToFrame } from './messages.ts'
import { useTerminalSettings } from './settings.ts'

export interface Seat {
  find(words: string, back: boolean): void
  focus(): void
}

interface Props {
  computerId: string
  terminalId: string
  label: string
  shown: boolean
  onBell: () => void
  onTitle: (title: string) => void
  onShortcut: (name: 'find' | 'next' | 'previous') => void
  onFound: (found: boolean) => void
  onEnd: () => void
  seat: (seat: Seat | null) => void
}

/** A terminal: its frame and its connection. Stays mounted while another tab is shown. */
export function Pane({ computerId, terminalId, label, shown, seat, ...told }: Props) {
  const frame = useRef<HTMLIFrameElement>(null)
  const port = useRef<MessagePort | null>(null)
  const line = useRef<TerminalConnection | null>(null)
  const [state, setState] = useState<LineState>({ type: 'connecting' })
  const [control, setControl] = useState(false)
  const scheme = useScheme()
  const { fontSize, screenReader } = useTerminalSettings()
  const look: Look = { scheme, fontSize, screenReader }
  const now = useRef({ ...told, look, control, shown })
  useEffect(() => {
    now.current = { ...told, look, control, shown }
  })

  const ask = (message: ToFrame): void => port.current?.postMessage(message)
  useEffect(() => ask({ type: 'look', look: { scheme, fontSize, screenReader } }), [scheme, fontSize, screenReader])
  useEffect(() => {
    if (!shown) return
    seat({
      find: (words, back) => ask({ type: 'find', words, back }),
      focus: () => focusOn(frame.current, ask),
    })
    focusOn(frame.current, ask)
    return () => seat(null)
  }, [shown, seat])

  function hear(message: FromFrame): void {
    switch (message.type) {
      case 'input':
        line.current?.type(now.current.control ? controlOf(message.data) : message.data)
        return setControl(false)
      case 'resize':
        return line.current?.resize(message.cols, message.rows)
      case 'written':
        return line.current?.drawn(message.bytes)
      case 'bell':
        return now.current.onBell()
      case 'title':
        return now.current.onTitle(message.title)
      case 'copy':
        return void copy(message.text)
      case 'found':
        return now.current.onFound(message.found)
      case 'shortcut':
        return now.current.onShortcut(message.name)
    }
  }

  /** The frame is ready: passes it its port and attaches to the terminal. */
  function begin(): void {
    port.current?.close()
    line.current?.leave()
    const { port1, port2 } = new MessageChannel()
    port.current = port1
    port1.addEventListener('message', ({ data }) => hear(data as FromFrame))
    port1.start()
    // The frame has no origin to address; the message contains only settings.
    frame.current!.contentWindow!.postMessage({ look: now.current.look }, '*', [port2])
    line.current = new TerminalConnection(computerId, terminalId, {
      state(next) {
        setState(next)
        if (next.type === 'ended' || next.type === 'refused') now.current.onEnd()
      },
      snapshot: (data) => ask({ type: 'snapshot', data }),
      bytes: (bytes) => ask({ type: 'bytes', bytes }),
      resize: (cols, rows) => ask({ type: 'resize', cols, rows }),
      gap: () => say('Some earlier output is no longer available'),
    })
    if (now.current.shown) focusOn(frame.current, ask)
  }
  useEffect(
    () => () => {
      line.current?.leave()
      port.current?.close()
    },
    [],
  )

  return (
    <div className={`absolute inset-0 flex flex-col ${shown ? '' : 'invisible'}`} aria-hidden={!shown}>
      <iframe
        ref={frame}
        src="/app/frame/terminal"
        sandbox="allow-scripts"
        title={`${label}. Press Control Shift F to open the search field.`}
        onLoad={begin}
        tabIndex={shown ? 0 : -1}
        className="min-h-0 w-full flex-1 border-0 bg-sheet"
      />
      <Status state={state} />
      <KeyBar
        control={control}
        onControl={() => setControl(!control)}
        onKey={(key) => ask({ type: 'key', key })}
        onPaste={(text) => ask({ type: 'paste', text })}
      />
    </div>
  )
}

function focusOn(frame: HTMLIFrameElement | null, ask: (message: ToFrame) => void): void {
  frame?.focus({ preventScroll: true })
  ask({ type: 'focus' })
}

const controlOf = (data: string): string =>
  /^[a-z@[\\\]^_ ]$/i.test(data) ? String.fromCharCode(data.toUpperCase().charCodeAt(0) & 31) : data

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say('Copied')
  } catch {
    say('Copying is blocked. Use the browser’s menu')
  }
}

function Status({ state }: { state: LineState }) {
  const words = wordsFor(state)
  return (
    <p role="status" className="border-t border-line bg-sunk px-3 py-1.5 text-[0.8125rem] text-quiet empty:hidden">
      {words}
      {state.type === 'lost' && (
        <Button look="quiet" className="ml-2 h-6!" onClick={() => window.dispatchEvent(new Event('online'))}>
          Reconnect
        </Button>
      )}
    </p>
  )
}

function wordsFor(state: LineState): string | null {
  switch (state.type) {
    case 'open':
      return null
    case 'connecting':
      return 'Connecting …'
    case 'lost':
      return 'Connection lost. Reconnecting … What you type is sent once you’re back online.'
    case 'ended':
      return state.exitCode === null
        ? state.signal === null
          ? 'The program has ended. Its output stays available for a day.'
          : `The program was ended by ${state.signal}. Its output stays available for a day.`
        : `The program exited with code ${state.exitCode}. Its output stays available for a day.`
    case 'refused':
      return state.why
  }
}
