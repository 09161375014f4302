import type { KeyboardEvent } from 'react'

export type ListCommand =
  | { is: 'go'; by: number; range: boolean }
  /** A box over the files at these indexes; `adds` extends the previous selection. */
  | { is: 'mark'; indices: readonly number[]; adds: boolean; begins: boolean }
  | { is: 'open' | 'select' | 'all' | 'none' | 'trash' | 'undo' | 'rename' | 'up' }

/** The action for a key. In a grid, the up and down arrows move by a row; a page is what fits on the screen. */
export function commandOf(
  { key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent,
  { columns, page }: { columns: number; page: number },
): ListCommand | null {
  const go = (by: number): ListCommand => ({ is: 'go', by, range: shiftKey })
  if (altKey) return key === 'ArrowUp' ? { is: 'up' } : null
  if (ctrlKey || metaKey)
    return key.toLowerCase() === 'a' ? { is: 'all' } : key.toLowerCase() === 'z' ? { is: 'undo' } : null
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return go(columns)
    case 'k':
    case 'ArrowUp':
      return go(-columns)
    case 'J':
      return { is: 'go', by: columns, range: true }
    case 'K':
      return { is: 'go', by: -columns, range: true }
    case 'ArrowRight':
      return columns > 1 ? go(1) : null
    case 'ArrowLeft':
      return columns > 1 ? go(-1) : null
    case 'PageDown':
      return go(page)
    case 'PageUp':
      return go(-page)
    case 'Home':
      return go(-Infinity)
    case 'End':
      return go(Infinity)
    case 'Enter':
      return { is: 'open' }
    case 'x':
    case ' ':
      return { is: 'select' }
    case 'Escape':
      return { is: 'none' }
    case '#':
    case 'Delete':
      return { is: 'trash' }
    case 'z':
      return { is: 'undo' }
    case 'F2':
      return { is: 'rename' }
    case 'Backspace':
      return { is: 'up' }
    default:
      return null
  }
}
