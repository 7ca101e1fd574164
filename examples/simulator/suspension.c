/* A quarter of a car drives over a bump and a rough road: how uncomfortable is it, and how badly does the
 * tyre hold the road? Usage: suspension STIFFNESS DAMPING linear|progressive
 *
 * Prints the cost on the last line; exits with code 3 if the suspension hits its stop.
 * suspension.py computes the same, for machines without a C compiler.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BODY = 300.0, WHEEL = 40.0;     /* masses, kg */
static const double TYRE = 2.0e5;                   /* stiffness, N/m */
static const double STOP = 0.08;                    /* travel of the suspension, m */
static const double SPEED = 10.0;                   /* m/s */
static const double STEP = 5.0e-4, DURATION = 3.0;  /* s */

typedef struct { double body, wheel, body_speed, wheel_speed; } State;

static double stiffness, damping;
static int progressive;

static double road(double t)
{
    const double pi = 3.14159265358979323846;
    double s = SPEED * t;
    double height = 0.002 * (sin(2.1 * s) + 0.7 * sin(5.3 * s + 1.0) + 0.4 * sin(11.7 * s + 2.0));
    if (s > 2.0 && s < 2.8)
        height += 0.05 * sin(pi * (s - 2.0) / 0.8);
    return height;
}

static double suspension_force(const State *x)
{
    double travel = x->wheel - x->body;
    double k = progressive ? stiffness * (1.0 + 4.0 * (travel / STOP) * (travel / STOP)) : stiffness;
    return k * travel + damping * (x->wheel_speed - x->body_speed);
}

static State rate(double t, State x)
{
    double f = suspension_force(&x);
    State dx = {x.body_speed, x.wheel_speed, f / BODY, (TYRE * (road(t) - x.wheel) - f) / WHEEL};
    return dx;
}

static State moved(State x, State dx, double h)
{
    State y = {x.body + h * dx.body, x.wheel + h * dx.wheel, x.body_speed + h * dx.body_speed,
               x.wheel_speed + h * dx.wheel_speed};
    return y;
}

int main(int argc, char **argv)
{
    if (argc != 4 || (strcmp(argv[3], "linear") && strcmp(argv[3], "progressive"))) {
        fprintf(stderr, "usage: suspension STIFFNESS DAMPING linear|progressive\n");
        return 2;
    }
    stiffness = atof(argv[1]);
    damping = atof(argv[2]);
    progressive = !strcmp(argv[3], "progressive");

    State x = {0.0, 0.0, 0.0, 0.0};
    double discomfort = 0.0, slip = 0.0;
    int n = (int)(DURATION / STEP + 0.5);
    for (int i = 0; i < n; i++) {
        double t = i * STEP;
        State a = rate(t, x);
        State b = rate(t + STEP / 2, moved(x, a, STEP / 2));
        State c = rate(t + STEP / 2, moved(x, b, STEP / 2));
        State d = rate(t + STEP, moved(x, c, STEP));
        x = moved(x, a, STEP / 6);
        x = moved(x, b, STEP / 3);
        x = moved(x, c, STEP / 3);
        x = moved(x, d, STEP / 6);
        if (!(fabs(x.wheel - x.body) < STOP)) {
            fprintf(stderr, "the suspension hits its stop\n");
            return 3;
        }
        discomfort += a.body_speed * a.body_speed / n;
        slip += pow(TYRE * (road(t) - x.wheel) / (9.81 * (BODY + WHEEL)), 2) / n;
    }
    printf("acceleration of the body: %.6f m/s^2 (rms)\n", sqrt(discomfort));
    printf("variation of the tyre force: %.6f (rms, share of the weight)\n", sqrt(slip));
    printf("cost = %.12g\n", sqrt(discomfort) + 10.0 * sqrt(slip));
    return 0;
}
