/** Why a run is told to leave its process: a person said so, or the server stops. Without either, it was taken away. */
export const STOPPED = new Error('the run was stopped')
export const HAND_OVER = new Error('the server stops')
