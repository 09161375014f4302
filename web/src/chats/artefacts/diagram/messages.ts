/** The messages of the page to the frame of a diagram. The frame answers `ready` and `drawn`, and nothing else. */
export type ToFrame = { type: 'draw'; source: string; scheme: 'light' | 'dark' } | { type: 'zoom'; to: Zoom }

/** The size of a drawing: a step nearer or away, all of it in the frame, or as large as it was laid out. */
export type Zoom = 'in' | 'out' | 'fit' | 'full'
