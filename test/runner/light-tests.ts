/**
 * `node:test` watches every promise of the process, to tell of a stray fault which test it belongs to: an `await` costs
 * forty times as much by it. Here it watches all else (a suite is found by that), and a stray fault fails its file.
 */
import hooks from 'node:async_hooks'

const { createHook } = hooks
// Known to Node 24, not yet to its types.
const light = { trackPromises: false }
hooks.createHook = (callbacks) => createHook({ ...callbacks, ...light })
export const { run } = await import('node:test')
hooks.createHook = createHook
