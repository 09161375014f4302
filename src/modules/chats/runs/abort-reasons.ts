/** Abort reasons of a run's signal. Aborted without one of these, the run was taken over by another process. */
export const STOPPED = new Error('the run was stopped')
export const HAND_OVER = new Error('the server stops')
