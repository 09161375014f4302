/** The newest dated version of the contract: what new keys are pinned to and sessions speak. */
export const newestVersion = '2026-11-21'
