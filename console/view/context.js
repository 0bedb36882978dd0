// The types that a view and the console agree on. Every file of this folder exports a `View`.

/**
 * Everything that a view receives when it is shown.
 * @typedef {object} Context
 * @property {string} tenant
 * @property {string[]} params the path segments that stand for `:id`
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal aborts when the user leaves the view
 * @property {string} signInProblem why the last sign-in failed, or the empty text
 * @property {(path: string[], query?: Record<string, string | number | undefined>) => string} link
 */

/**
 * A view: one screen of the console.
 * @typedef {object} View
 * @property {(context: Context) => string} title
 * @property {string[]} scopes the session needs any of these; no scopes: every session may see the view
 * @property {(context: Context) => Node | Promise<Node>} show
 */
