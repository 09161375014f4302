/** Messages between the page and a terminal's frame. */

export interface Look {
  scheme: 'light' | 'dark'
  fontSize: number
  screenReader: boolean
}

export type Key = 'escape' | 'tab' | 'up' | 'down' | 'left' | 'right'

export type ToFrame =
  | { type: 'look'; look: Look }
  | { type: 'snapshot'; data: string }
  | { type: 'bytes'; bytes: Uint8Array }
  /** The terminal's size, set by one of its users. */
  | { type: 'resize'; cols: number; rows: number }
  | { type: 'key'; key: Key }
  | { type: 'paste'; text: string }
  | { type: 'find'; words: string; back: boolean }
  | { type: 'focus' }

export type FromFrame =
  | { type: 'input'; data: string }
  /** The size that fits, once someone uses the terminal here. */
  | { type: 'resize'; cols: number; rows: number }
  | { type: 'written'; bytes: number }
  | { type: 'bell' }
  | { type: 'title'; title: string }
  | { type: 'copy'; text: string }
  | { type: 'found'; found: boolean }
  | { type: 'shortcut'; name: 'find' | 'next' | 'previous' }
