/**
 * `node:test` tracks every promise to attribute stray errors, which makes `await` forty times as expensive. This tracks
 * everything else (needed to find suites); a stray error fails its file.
 */
import hooks from 'node:async_hooks'

const { createHook } = hooks
// Supported by Node 24 but missing in its types.
const light = { trackPromises: false }
hooks.createHook = (callbacks) => createHook({ ...callbacks, ...light })
export const { run } = await import('node:test')
hooks.createHook = createHook
