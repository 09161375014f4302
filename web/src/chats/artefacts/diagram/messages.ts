/** What the page around the frame of a diagram says to it. The frame answers `ready` and `drawn`, and nothing else. */
export type ToFrame = { type: 'draw'; source: string; scheme: 'light' | 'dark' } | { type: 'zoom'; to: Zoom }

/** A step nearer or away, all of it in the frame, or as large as it was laid out. */
export type Zoom = 'in' | 'out' | 'fit' | 'full'
