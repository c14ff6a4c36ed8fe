"""Calls of a person's methods from C, and the fields of the steps that they return, at least cost.

Every ``PyObject *`` that comes back from ``call`` is owned by the caller, or NULL with an exception
set; fields are borrowed.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.math cimport fabs
from libc.stdint cimport int32_t

from mcts_core.native cimport LIMIT, STEP_TERMINAL

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset

cdef extern from "Python.h":
    const size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    PyTypeObject PyFunction_Type, PyMethod_Type, PyMemberDescr_Type
    ctypedef struct PyMemberDescrObject:
        PyMemberDef *d_member
    PyTypeObject *type_of "Py_TYPE"(PyObject *thing) noexcept
    PyObject *vectorcall "PyObject_Vectorcall"(PyObject *function, PyObject **arguments,
                                               size_t count, PyObject *names) noexcept
    PyObject *method_function "PyMethod_GET_FUNCTION"(PyObject *method) noexcept
    PyObject *method_self "PyMethod_GET_SELF"(PyObject *method) noexcept
    bint is_float "PyFloat_CheckExact"(PyObject *thing) noexcept
    bint is_int "PyLong_CheckExact"(PyObject *thing) noexcept
    double float_value "PyFloat_AS_DOUBLE"(PyObject *thing) noexcept
    double int_value "PyLong_AsDouble"(PyObject *thing) noexcept
    void clear_error "PyErr_Clear"() noexcept
    bint is_tuple "PyTuple_CheckExact"(PyObject *thing) noexcept
    bint is_list "PyList_CheckExact"(PyObject *thing) noexcept
    Py_ssize_t length "Py_SIZE"(PyObject *tuple_or_list) noexcept
    PyObject *tuple_item "PyTuple_GET_ITEM"(PyObject *items, Py_ssize_t i) noexcept
    PyObject *list_item "PyList_GET_ITEM"(PyObject *items, Py_ssize_t i) noexcept
    PyObject *true "Py_True"
    PyObject *false "Py_False"
    void hold "Py_INCREF"(PyObject *thing) noexcept
    void forget "Py_DECREF"(PyObject *thing) noexcept
    void forget_any "Py_XDECREF"(PyObject *thing) noexcept

cdef extern from *:
    """
    #define SIMULATORS_TAKE_OVER(answer) (answer)
    """
    # As an object of Cython's, which then owns it; raises the exception that is set if it is NULL.
    object take_over "SIMULATORS_TAKE_OVER"(PyObject *answer)

ctypedef struct Method:
    PyObject *function      # borrowed, like `owner`, from the method that it was taken from
    PyObject *owner
    size_t bound            # 1: `owner` is the first argument

ctypedef struct StepLayout:
    PyTypeObject *type      # NULL: the fields are not slots, read them as attributes
    Py_ssize_t state, reward, terminal      # bytes from the start of an object


cdef inline Method taken_apart(PyObject *callable) noexcept:
    """A bound method as its function and its object: making the call costs less."""
    cdef Method method
    method.function = callable
    method.owner = NULL
    method.bound = 0
    if callable != NULL and type_of(callable) == &PyMethod_Type:
        method.function = method_function(callable)
        method.owner = method_self(callable)
        method.bound = 1
    return method


cdef inline PyObject *call(const Method *method, PyObject *first, PyObject *second) noexcept:
    """method(first, second), or method(first) if second is NULL."""
    cdef PyObject *stack[4]     # [0] or [1] is for the callee to overwrite, as vectorcall has it
    stack[1] = method.owner
    stack[2] = first
    stack[3] = second
    return vectorcall(method.function, stack + 2 - method.bound,
                      (method.bound + 1 + (second != NULL)) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)


cdef inline Py_ssize_t slot_offset(object type_, str name):
    """Where a field of ``__slots__`` stands in an object; 0 if it is none."""
    cdef object descriptor = getattr(type_, name, None)
    if type_of(<PyObject *>descriptor) != &PyMemberDescr_Type:
        return 0
    return (<PyMemberDescrObject *>descriptor).d_member.offset


cdef inline StepLayout layout_of(object type_):
    """Where the fields of a step stand."""
    cdef StepLayout layout
    layout.state = slot_offset(type_, "state")
    layout.reward = slot_offset(type_, "reward")
    layout.terminal = slot_offset(type_, "terminal")
    layout.type = NULL
    if layout.state > 0 and layout.reward > 0 and layout.terminal > 0:
        layout.type = <PyTypeObject *>type_
    return layout


cdef inline PyObject *field(PyObject *thing, Py_ssize_t offset) noexcept:
    return (<PyObject **>(<char *>thing + offset))[0]


cdef inline bint read_number(PyObject *thing, double *number) noexcept:
    """True and its value if it is a finite float or int, of no subclass."""
    if is_float(thing):
        number[0] = float_value(thing)
    elif is_int(thing):
        number[0] = int_value(thing)
        if number[0] == -1.0:
            clear_error()       # it may have been too large: then it is read again, with a message
            return False
    else:
        return False
    return fabs(number[0]) <= LIMIT


cdef inline PyObject *read_step(const StepLayout *layout, PyObject *step, double *reward,
                                int32_t *flags) noexcept:
    """The state of a step of the usual kind, its reward and end; NULL if it is not of it: no
    SimulatedStep itself, or its reward is no finite number, or its end no bool."""
    cdef PyObject *earned
    cdef PyObject *terminal
    if type_of(step) != layout.type:
        return NULL
    earned = field(step, layout.reward)
    terminal = field(step, layout.terminal)
    if earned == NULL or not read_number(earned, reward) \
            or (terminal != true and terminal != false):
        return NULL
    flags[0] = STEP_TERMINAL if terminal == true else 0
    return field(step, layout.state)


cdef inline Py_ssize_t length_of(PyObject *items) noexcept:
    """Of a tuple or list, no subclass; -1 of anything else."""
    return length(items) if is_tuple(items) or is_list(items) else -1


cdef inline PyObject *item_of(PyObject *items, Py_ssize_t i) noexcept:
    """An item of a tuple or list; NULL if there are not so many (any more)."""
    if i >= length(items):
        return NULL
    return tuple_item(items, i) if is_tuple(items) else list_item(items, i)
