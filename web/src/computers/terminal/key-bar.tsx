import type { ReactNode } from 'react'
import type { Key } from './messages.ts'

const keys: readonly (readonly [key: Key, sign: string, label: string])[] = [
  ['escape', 'Esc', 'Escape'],
  ['tab', 'Tab', 'Tab'],
]
const arrows: readonly (readonly [key: Key, sign: string, label: string])[] = [
  ['left', '←', 'Left'],
  ['down', '↓', 'Down'],
  ['up', '↑', 'Up'],
  ['right', '→', 'Right'],
]

export function KeyBar({
  control,
  onControl,
  onKey,
  onPaste,
}: {
  /** Control applies to the next key. */
  control: boolean
  onControl: () => void
  onKey: (key: Key) => void
  onPaste: (text: string) => void
}) {
  const paste = async (): Promise<void> => {
    const text = await navigator.clipboard?.readText().catch(() => '')
    if (text) onPaste(text)
  }
  const of = ([key, sign, label]: (typeof keys)[number]) => (
    <KeyButton key={key} label={label} onPress={() => onKey(key)}>
      {sign}
    </KeyButton>
  )
  return (
    <div
      role="group"
      aria-label="Keys"
      className="hidden gap-1 overflow-x-auto border-t border-line bg-paper p-1 max-lg:flex pointer-coarse:flex"
    >
      {keys.map(of)}
      <KeyButton label="Control" pressed={control} onPress={onControl}>
        Ctrl
      </KeyButton>
      {arrows.map(of)}
      <KeyButton label="Paste" onPress={() => void paste()}>
        Paste
      </KeyButton>
    </div>
  )
}

function KeyButton({
  label,
  pressed,
  onPress,
  children,
}: {
  label: string
  pressed?: boolean
  onPress: () => void
  children: ReactNode
}) {
  return (
    <button
      type="button"
      aria-label={label}
      aria-pressed={pressed}
      // Keeps the focus in the terminal, and the phone's keyboard open.
      onPointerDown={(event) => event.preventDefault()}
      onClick={onPress}
      className="h-11 min-w-11 flex-1 rounded-xs border border-line bg-sheet px-2 font-mono text-sm select-none active:bg-sunk aria-pressed:border-ai aria-pressed:bg-ai-wash"
    >
      {children}
    </button>
  )
}
