/**
 * The reasons why a run is told to leave its process: a person stopped it, or the server stops. Without either, another
 * process took it over.
 */
export const STOPPED = new Error('the run was stopped')
export const HAND_OVER = new Error('the server stops')
