/** What the page and the frame of a terminal say to each other over their port. */

export interface Look {
  scheme: 'light' | 'dark'
  fontSize: number
  /** Draws what is shown a second time, as text, for screen readers. */
  screenReader: boolean
}

export type Key = 'escape' | 'tab' | 'up' | 'down' | 'left' | 'right'

export type ToFrame =
  | { type: 'look'; look: Look }
  /** Draws the screen anew; what was on it before is gone. */
  | { type: 'snapshot'; data: string }
  | { type: 'bytes'; bytes: Uint8Array }
  /** The size that the terminal has now: of all who look at it one decides. */
  | { type: 'resize'; cols: number; rows: number }
  | { type: 'key'; key: Key }
  | { type: 'paste'; text: string }
  | { type: 'find'; words: string; back: boolean }
  | { type: 'focus' }

export type FromFrame =
  | { type: 'input'; data: string }
  /** What fits, once somebody sits at it. */
  | { type: 'resize'; cols: number; rows: number }
  /** So many bytes are drawn. */
  | { type: 'written'; bytes: number }
  | { type: 'bell' }
  | { type: 'title'; title: string }
  | { type: 'copy'; text: string }
  | { type: 'found'; found: boolean }
  /** A shortcut that the page answers. */
  | { type: 'shortcut'; name: 'find' | 'next' | 'previous' }
