/** Messages from the page to a diagram's frame, which answers only `ready` and `drawn`. */
export type ToFrame = { type: 'draw'; source: string; scheme: 'light' | 'dark' } | { type: 'zoom'; to: Zoom }

export type Zoom = 'in' | 'out' | 'fit' | 'full'
